#include "server/models/model_registry.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <new>
#include <sstream>
#include <thread>

#include "base/caught.h"

namespace realizar::server {
namespace {

constexpr const char* kServedModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

// Tasks for the test's own thread, which acts as the I/O thread.
class IoThread {
 public:
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    has_task_.notify_one();
  }
  void run_until(const std::function<bool()>& is_done) {
    while (!is_done()) {
      std::unique_lock lock(mutex_);
      has_task_.wait(lock, [&] { return !tasks_.empty(); });
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::deque<std::function<void()>> tasks_;
};

Result<std::unique_ptr<LoadedModel>> broken(const std::string& path, const LoadOptions&) {
  return format_error(path + ": expected the magic GGUF, actual 0");
}

class Registry : public ::testing::Test {
 protected:
  using Load = std::function<Result<std::unique_ptr<LoadedModel>>(const std::string&, const LoadOptions&)>;

  RegistryOptions options(Load load) {
    RegistryOptions options;
    options.load_model = std::move(load);
    options.on_progress = [] {};
    options.post_io = [this](std::function<void()> task) { io_.post(std::move(task)); };
    return options;
  }
  // With small models; the loads are counted.
  RegistryOptions small_options() {
    RegistryOptions small = options([this](const std::string& path, const LoadOptions& load) {
      ++n_loads_;
      return LoadedModel::load(path, load);
    });
    small.load.n_ctx = 64;
    small.load.batch.max_tokens = 64;
    return small;
  }
  // Loads nothing until the test allows it, and fails then.
  RegistryOptions slow_options(uint32_t max_queue) {
    RegistryOptions slow = options([this](const std::string& path, const LoadOptions& load) {
      may_load_.get_future().wait();
      return broken(path, load);
    });
    slow.max_queue = max_queue;
    return slow;
  }
  // The final result of acquire.
  Result<ServedModelPtr> acquired(ModelRegistry& models, const std::string& id) {
    std::optional<Result<ServedModelPtr>> given;
    models.acquire(id, 0, [&](const Result<ServedModelPtr>& model) { given = model; });
    io_.run_until([&] { return given.has_value(); });
    return *given;
  }

  IoThread io_;
  std::atomic<int> n_loads_{0};
  std::promise<void> may_load_;
};

std::string id_of(const ModelRegistry::Entry* entry) {
  return entry == nullptr ? "none" : entry->source.id;
}

// Records log lines during its lifetime.
class Log {
 public:
  Log() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~Log() { spdlog::set_default_logger(before_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  size_t count(const std::string& wanted) const {
    const std::string text = text_.str();
    size_t n = 0;
    for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) ++n;
    return n;
  }

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

TEST_F(Registry, AContextBeyondWhatTheModelWasTrainedForIsLoggedOnceAModel) {
  for (const uint32_t n_ctx : {1024, 1025}) {
    const Log log;
    RegistryOptions with_ctx = options(LoadedModel::load);
    with_ctx.load.n_ctx = n_ctx;
    with_ctx.load.backend = BackendChoice::kCpu;
    ModelRegistry models({{"tiny", kServedModel}}, with_ctx);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(acquired(models, "tiny").ok());
    EXPECT_EQ(log.count("tiny: --ctx 1025: the model was trained for 1024 tokens"), n_ctx > 1024 ? 1u : 0u);
  }
}

TEST(ModelNames, AModelThatIsAloneHasEveryName) {
  const ModelRegistry models({{"tiny", "", {"small"}}}, {});
  for (const char* name : {"", "tiny", "TINY:latest", "small", "gpt-4o"}) EXPECT_EQ(id_of(models.find(name)), "tiny");
  EXPECT_EQ(id_of(models.find_named("gpt-4o")), "none");
}

TEST(ModelNames, WhereTheyAreStrictOnlyItsOwnCount) {
  RegistryOptions strict;
  strict.strict_model_names = true;
  const ModelRegistry models({{"tiny", "", {"small"}}}, strict);
  for (const char* name : {"", "tiny", "small"}) EXPECT_EQ(id_of(models.find(name)), "tiny");
  EXPECT_EQ(id_of(models.find("gpt-4o")), "none");
}

TEST(ModelNames, OfSeveralModelsAreFoundInAnyCaseAndWithATag) {
  const ModelRegistry models({{"One", "", {"first"}}, {"one", "", {}}, {"two:latest", "", {"a", "b"}}}, {});
  EXPECT_EQ(id_of(models.find("")), "One");
  EXPECT_EQ(id_of(models.find("one")), "one");
  EXPECT_EQ(id_of(models.find("One")), "One");
  EXPECT_EQ(id_of(models.find("ONE:Latest")), "One");
  EXPECT_EQ(id_of(models.find("FIRST")), "One");
  for (const char* name : {"two", "two:latest", "Two", "b", "B:latest"})
    EXPECT_EQ(id_of(models.find(name)), "two:latest");
  for (const char* name : {"three", "two:7b", ":latest", "on", "latest"}) EXPECT_EQ(id_of(models.find(name)), "none");
}

size_t n_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(Registry, AFailedLoadIsNotRepeatedForAWhileAndTellsNoPath) {
  auto settings = options([&](const std::string& path, const LoadOptions& load) {
    ++n_loads_;
    return broken(path, load);
  });
  settings.retry_ms = 3'600'000;
  ModelRegistry models({{"broken", "/srv/secret/broken.gguf"}}, settings);
  for (int i = 0; i < 10; ++i) {
    const auto model = acquired(models, "broken");
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, ErrorCode::kInternal);
    EXPECT_NE(model.error().message.find("'broken'"), std::string::npos);
    EXPECT_EQ((model.error().message + model.error().subject).find("secret"), std::string::npos);
  }
  EXPECT_EQ(n_loads_, 1);
  EXPECT_NE(models.find("broken")->failure->message.find("secret"), std::string::npos) << "for the log";
}

TEST_F(Registry, TheBoundOfMemoryHoldsForASingleModelWithItsCache) {
  RegistryOptions settings = options([&](const std::string& path, const LoadOptions& load) {
    ++n_loads_;
    return broken(path, load);
  });
  settings.memory_bytes = uint64_t{20} << 20;
  settings.needed_bytes = [](const std::string&, const LoadOptions&) -> Result<uint64_t> {
    return uint64_t{300} << 20;
  };
  ModelRegistry models({{"large", "large.gguf"}}, settings);
  const auto model = acquired(models, "large");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(n_loads_, 0) << "nothing is taken before";
  const std::string failure = models.find("large")->failure->message;
  EXPECT_NE(failure.find("takes 301 MB with its cache, and --memory-mb leaves 20 MB"), std::string::npos) << failure;
}

TEST_F(Registry, ACacheThatIsLargerThanTheFileMakesTheOthersGo) {
  RegistryOptions settings = options(LoadedModel::load);
  settings.load.backend = BackendChoice::kCpu;
  settings.load.n_ctx = 32;
  settings.memory_bytes = uint64_t{200} << 20;
  settings.needed_bytes = [](const std::string&, const LoadOptions&) -> Result<uint64_t> {
    return uint64_t{198} << 20;
  };
  ModelRegistry models({{"one", kServedModel}, {"two", kServedModel}}, settings);
  for (const char* id : {"one", "two", "one"}) {
    ASSERT_TRUE(acquired(models, id).ok());
    for (const auto& entry : models.entries()) {
      EXPECT_EQ(entry.model != nullptr, entry.source.id == id) << entry.source.id << " after " << id;
    }
  }
}

TEST_F(Registry, LoadsThatFailLeaveNoThreadBehind) {
  auto settings = options(broken);
  settings.retry_ms = 0;
  ModelRegistry models({{"broken", "broken.gguf"}}, settings);
  static_cast<void>(acquired(models, "broken").ok());
  const size_t n_before = n_threads();
  for (int i = 0; i < 2000; ++i) ASSERT_FALSE(acquired(models, "broken").ok());
  EXPECT_EQ(n_threads(), n_before);
}

TEST_F(Registry, WhatALoadThrowsIsItsFailure) {
  const auto throwing = [](const std::string&, const LoadOptions&) -> Result<std::unique_ptr<LoadedModel>> {
    throw std::bad_alloc();
  };
  ModelRegistry models({{"large", "large.gguf"}}, options(throwing));
  const auto model = acquired(models, "large");
  EXPECT_EQ(model.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(model.error().subject, kOutOfResources);
}

TEST_F(Registry, EndsWithALoadThatHangs) {
  struct Disk {
    std::promise<void> answers, is_left;
  };
  const auto disk = std::make_shared<Disk>();
  const auto hanging = [disk](const std::string& path, const LoadOptions& load) {
    disk->answers.get_future().wait();
    static_cast<void>(load.progress(1, 2));
    auto result = broken(path, load);
    disk->is_left.set_value();
    return result;
  };
  bool is_called = false;
  {
    auto settings = options(hanging);
    settings.stop_timeout_ms = 1;
    ModelRegistry models({{"hanging", "hanging.gguf"}}, settings);
    models.acquire("hanging", 0, [&](const auto&) { is_called = true; });
  }
  disk->answers.set_value();
  disk->is_left.get_future().wait();
  EXPECT_FALSE(is_called);
}

TEST_F(Registry, WhoeverWaitsForALoadMayLeaveAndTooManyAreTurnedAway) {
  ModelRegistry models({{"slow", "slow.gguf"}}, slow_options(2));
  int n_called = 0;
  bool left_is_called = false;
  const uint64_t leaving = models.acquire("slow", 0, [&](const auto&) { left_is_called = true; });
  models.acquire("slow", 0, [&](const auto&) { ++n_called; });
  std::optional<ErrorCode> refusal;
  models.acquire("slow", 0, [&](const Result<ServedModelPtr>& model) { refusal = model.error().code; });
  EXPECT_EQ(refusal, ErrorCode::kResourceExhausted);
  models.forget(leaving);
  models.acquire("slow", 0, [&](const auto&) { ++n_called; });
  may_load_.set_value();
  io_.run_until([&] { return n_called == 2; });
  EXPECT_FALSE(left_is_called);
}

TEST_F(Registry, TenantsShareThePlacesWhereTheyWaitForALoad) {
  ModelRegistry models({{"slow", "slow.gguf"}}, slow_options(4));
  std::vector<std::pair<uint64_t, ErrorCode>> told;  // by the number of the request, in order of arrival
  uint64_t n_requests = 0;
  const auto ask = [&](uint64_t tenant) {
    models.acquire("slow", tenant, [&, n = n_requests++](const Result<ServedModelPtr>& model) {
      told.emplace_back(n, model.error().code);
    });
  };
  using Told = std::vector<std::pair<uint64_t, ErrorCode>>;
  for (int i = 0; i < 4; ++i) ask(1);
  ask(1);
  EXPECT_EQ(told, (Told{{4, ErrorCode::kResourceExhausted}})) << "it has its slots";
  ask(2);
  ask(2);
  EXPECT_EQ(told, (Told{{4, ErrorCode::kResourceExhausted},
                        {3, ErrorCode::kResourceExhausted},
                        {2, ErrorCode::kResourceExhausted}}));
  told.clear();
  ask(2);
  EXPECT_EQ(told, (Told{{7, ErrorCode::kResourceExhausted}})) << "beyond its share";
  told.clear();
  may_load_.set_value();
  io_.run_until([&] { return told.size() == 4; });
  EXPECT_EQ(
      told,
      (Told{
          {0, ErrorCode::kInternal}, {1, ErrorCode::kInternal}, {5, ErrorCode::kInternal}, {6, ErrorCode::kInternal}}));
}

TEST_F(Registry, AModelThatNobodyUsesIsUnloadedWhenItsTimeIsOverAndComesBack) {
  ModelRegistry models({{"tiny", kServedModel}}, small_options());
  const auto state = [&] { return models.find("tiny")->state; };
  using State = ModelRegistry::State;
  EXPECT_FALSE(models.has_been_ready());
  {
    const auto held = acquired(models, "tiny");
    ASSERT_TRUE(held.ok());
    models.unload_idle();
    EXPECT_EQ(state(), State::kReady) << "nobody asked for its unloading";
    models.keep_alive("tiny:latest", std::chrono::milliseconds(0));
    models.unload_idle();
    EXPECT_EQ(state(), State::kReady) << "it is used";
  }
  models.keep_alive("tiny", std::chrono::hours(1));
  models.unload_idle();
  EXPECT_EQ(state(), State::kReady) << "its time is not over";
  models.keep_alive("tiny", std::chrono::milliseconds(0));
  models.unload_idle();
  EXPECT_EQ(state(), State::kUnloading);
  EXPECT_EQ(models.find("tiny")->model, nullptr);
  EXPECT_TRUE(models.has_been_ready()) << "the next request loads it";
  EXPECT_TRUE(acquired(models, "tiny").ok()) << "though it comes while the model is leaving";
  EXPECT_EQ(n_loads_, 2);
  models.unload_idle();
  EXPECT_EQ(state(), State::kReady) << "what was loaded anew stays";
}

TEST_F(Registry, AModelIsEvictedOnTheLoadersThreadOnceNobodyHasIt) {
  std::weak_ptr<ServedModel> first;
  bool is_gone_before_the_second = false;
  std::thread::id loader;
  auto settings = options([&](const std::string& path, const LoadOptions& load) {
    if (n_loads_++ == 1) {
      is_gone_before_the_second = first.expired();
      loader = std::this_thread::get_id();
    }
    return LoadedModel::load(path, load);
  });
  settings.load.n_ctx = 64;
  settings.load.batch.max_tokens = 64;
  settings.max_loaded = 1;
  ModelRegistry models({{"first", kServedModel}, {"second", kServedModel}}, settings);
  auto held = acquired(models, "first");
  ASSERT_TRUE(held.ok()) << held.error().message;
  first = *held;
  EXPECT_EQ(acquired(models, "second").error().code, ErrorCode::kResourceExhausted) << "the first is in use";
  EXPECT_EQ(models.find("first")->state, ModelRegistry::State::kReady);
  *held = nullptr;
  EXPECT_TRUE(acquired(models, "second").ok());
  EXPECT_TRUE(is_gone_before_the_second);
  EXPECT_NE(loader, std::this_thread::get_id());
  EXPECT_EQ(models.find("first")->state, ModelRegistry::State::kUnloaded);
}

TEST_F(Registry, AModelThatMadeRoomForAnotherIsWokenAsOneThatSleeps) {
  std::promise<void> may_load_again;
  auto settings = options([&](const std::string& path, const LoadOptions& load) {
    if (n_loads_++ == 2) may_load_again.get_future().wait();
    return LoadedModel::load(path, load);
  });
  settings.load.n_ctx = 64;
  settings.load.batch.max_tokens = 64;
  settings.max_loaded = 1;
  ModelRegistry models({{"first", kServedModel}, {"second", kServedModel}}, settings);
  EXPECT_FALSE(models.find("first")->has_served);
  for (const char* name : {"first", "second"}) ASSERT_TRUE(acquired(models, name).ok());
  EXPECT_TRUE(models.find("first")->has_served);
  EXPECT_EQ(models.find("first")->model, nullptr);
  std::optional<Result<ServedModelPtr>> given;
  models.acquire("first", 0, [&](const Result<ServedModelPtr>& model) { given = model; });
  EXPECT_EQ(models.find("first")->state, ModelRegistry::State::kLoading);
  EXPECT_EQ(models.find("second")->model, nullptr);
  EXPECT_TRUE(models.has_been_ready()) << "though nothing is loaded now";
  may_load_again.set_value();
  io_.run_until([&] { return given.has_value(); });
  EXPECT_TRUE(given->ok());
}

TEST_F(Registry, AModelIsPutInThePlaceOfOneOfItsId) {
  ModelRegistry models({{"first", kServedModel, {"alias"}}, {"second", kServedModel}}, small_options());
  const auto held = acquired(models, "first");
  ASSERT_TRUE(held.ok()) << held.error().message;
  models.put({"first", kServedModel});
  EXPECT_EQ(models.find("first")->model, *held) << "it is the same model";
  ModelSource changed{"first", kServedModel};
  changed.texts = std::make_shared<const StoredTexts>(StoredTexts{"Be brief.", "", "", "", ""});
  models.put(changed);
  EXPECT_EQ(models.entries().size(), 2u);
  EXPECT_EQ(models.find("")->source.id, "first") << "it keeps its place";
  EXPECT_EQ(id_of(models.find("alias")), "first");
  const auto next = acquired(models, "first");
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_NE(*next, *held);
  EXPECT_EQ((*next)->texts->system, "Be brief.");
  EXPECT_EQ(n_loads_, 2);
  models.put({"third", kServedModel});
  EXPECT_EQ(models.entries().back().source.id, "third");
}

TEST_F(Registry, WhoWaitsForAModelGetsTheOneInItsPlace) {
  std::promise<void> has_begun, may_go;
  auto settings = options([&, go = may_go.get_future().share()](const std::string& path, const LoadOptions& load) {
    if (n_loads_++ == 0) {
      has_begun.set_value();
      go.wait();
    }
    return LoadedModel::load(path, load);
  });
  settings.load.n_ctx = 64;
  settings.load.batch.max_tokens = 64;
  ModelRegistry models({{"first", kServedModel}}, settings);
  std::optional<Result<ServedModelPtr>> given;
  models.acquire("first", 0, [&](const Result<ServedModelPtr>& model) { given = model; });
  has_begun.get_future().wait();
  ModelSource changed{"first", kServedModel};
  changed.texts = std::make_shared<const StoredTexts>(StoredTexts{"Be brief.", "", "", "", ""});
  models.put(changed);
  io_.run_until([&] { return given.has_value(); });
  may_go.set_value();
  ASSERT_TRUE(given->ok()) << given->error().message;
  ASSERT_NE((**given)->texts, nullptr);
  EXPECT_EQ((**given)->texts->system, "Be brief.");
}

TEST_F(Registry, OtherSpellingsOfAHubsNameFindTheModel) {
  const ModelRegistry models({{"hf:owner/repo:Q4_K_M", kServedModel}, {"ollama:llama3:8b", kServedModel}},
                             options(LoadedModel::load));
  EXPECT_EQ(id_of(models.find_named("hf.co/owner/repo:Q4_K_M")), "hf:owner/repo:Q4_K_M");
  EXPECT_EQ(id_of(models.find_named("llama3:8b")), "ollama:llama3:8b");
  EXPECT_EQ(id_of(models.find_named("llama3:70b")), "none");
  EXPECT_EQ(id_of(models.find_named(std::string(100'000, 'a'))), "none");
}

}  // namespace
}  // namespace realizar::server
