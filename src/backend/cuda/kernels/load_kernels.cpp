#include "backend/cuda/kernels/load_kernels.h"

#include "backend/kv_types.h"
#include "quant/types.h"

namespace realizar::cuda {
namespace {

// Numbers of rows with different kernels for products.
constexpr uint32_t kRowCounts[] = {1, 4, 8, 9};

void load_products(const KernelTable& kernels, TypeId type, Stream stream) {
  Matrix matrix{};
  matrix.n_rows = matrix.n_cols = 1;
  matrix.type = type;
  EmbedArgs embed{};
  embed.table = matrix;
  kernels.embed(embed, 1, stream);
  LinearArgs linear{};
  linear.weight = matrix;
  for (const uint32_t n_rows : kRowCounts) {
    kernels.linear(linear, n_rows, stream);
    kernels.linear_few(linear, n_rows, stream);
    kernels.linear_few_split(linear, n_rows, stream);
  }
  kernels.linear_many(linear, 1, stream);
  kernels.linear_split(linear, 1, stream);
  SplitArgs split{};
  split.type = type;
  kernels.split(split, 1, stream);
  ExpertsHiddenArgs hidden{};
  hidden.weight = matrix;
  kernels.experts_hidden(hidden, 1, stream);
  ExpertsDownArgs down{};
  down.down = matrix;
  kernels.experts_down(down, 1, stream);
  HeadLinearArgs heads{};
  heads.weight = matrix;
  kernels.head_linear(heads, 1, stream);
}

// One of each state size.
void load_states(const KernelTable& kernels, Stream stream) {
  StateScanArgs scan{};
  scan.op.n_heads = scan.op.head_dim = 1;
  for (const uint32_t d_state : {1u, 17u, kMaxStateDim}) {
    scan.op.d_state = d_state;
    kernels.state_scan(scan, 1, stream);
  }
  DeltaRuleArgs delta{};
  delta.op.n_heads = delta.op.value_dim = 1;
  for (const uint32_t key_dim : {64u, 128u, kMaxKeyDim}) {
    delta.op.key_dim = key_dim;
    kernels.delta_rule(delta, 1, 1, stream);
  }
  WkvArgs wkv{};
  wkv.op.n_heads = 1;
  for (const uint32_t head_dim : {64u, 128u, kMaxKeyDim}) {
    wkv.op.head_dim = head_dim;
    kernels.wkv(wkv, 1, 1, stream);
  }
}

void load_attention(const KernelTable& kernels, KvType type, Stream stream) {
  AttentionArgs args{};
  args.op.n_heads = args.cache.n_kv_heads = 1;
  args.n_row_cuts = args.pass_row_cuts = 1;
  args.n_tiles = args.end_row = 1;
  args.n_cuts = 2;
  args.cache.type = type;
  RopeStoreArgs rope{};
  rope.cache = args.cache;
  kernels.rope_store(rope, 1, stream);
  LatentStoreArgs latent{};
  latent.cache = args.cache;
  kernels.latent_store(latent, 1, stream);
  for (const uint32_t head_dim : {64u, 128u, kMaxHeadDim}) {
    args.cache.head_dim = head_dim;
    kernels.attention_decode(args, stream);
    kernels.attention_prefill(args, stream);
  }
  kernels.attention_plain(args, {}, 1, stream);
  args.cache.head_dim = kMaxLatentKeyDim;
  kernels.attention_latent(args, stream);
  kernels.attention_plain(args, {}, 1, stream);
}

// A launch whose kernels do not depend on its arguments: with the maximum of rows and sequences, if it takes them.
template <class Args, class... Rest>
void load(void (*launch)(const Args&, Rest...), Stream stream) {
  if constexpr (sizeof...(Rest) == 1) {
    launch({}, stream);
  } else if constexpr (sizeof...(Rest) == 2) {
    launch({}, 1, stream);
  } else {
    launch({}, 1, 1, stream);
  }
}

}  // namespace

void load_kernels(const KernelTable& kernels) {
  const Stream stream = load_only_stream();
  for (const TypeTraits& type : all_types()) load_products(kernels, type.id, stream);
  for (const KvType type : kKvTypes) load_attention(kernels, type, stream);
  load_states(kernels, stream);
#define RZ_LAUNCH(Result, name, ...) load(kernels.name, stream);
#define RZ_SHAPED_LAUNCH(Result, name, ...)
#include "backend/cuda/kernels/launches.inl"
  for (const bool is_int8 : {false, true}) kernels.multiply({0, is_int8, nullptr}, stream);
}

}  // namespace realizar::cuda
