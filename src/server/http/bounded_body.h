// A body of Beast's parser that takes what arrives, as far as it is wanted and there is room for it.
#pragma once

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "server/http/http.h"

namespace realizar::server {

struct BoundedBody {
  struct value_type {  // NOLINT(readability-identifier-naming): Beast's name
    HttpBody body;
    std::shared_ptr<BodySink> sink;  // null: into `body`
    size_t max_bytes = 0;
    bool is_wanted = true;
  };

  class reader {  // NOLINT(readability-identifier-naming): Beast's name
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& value) : value_(value) {}

    void init(const boost::optional<uint64_t>& n_bytes, boost::system::error_code& error) {
      if (n_bytes) n_expected_bytes_ = *n_bytes;
      error = {};
    }

    size_t put(boost::asio::const_buffer buffer, boost::system::error_code& error) {
      const size_t n_bytes = buffer.size();
      error = {};
      if (!value_.is_wanted) return n_bytes;
      if (value_.sink != nullptr) {
        value_.sink->take({static_cast<const char*>(buffer.data()), n_bytes});
        return n_bytes;
      }
      std::string& bytes = value_.body.bytes;
      const size_t n_all_bytes = bytes.size() + n_bytes;
      if (n_all_bytes > value_.max_bytes) error = boost::beast::http::error::body_limit;
      if (!error && !value_.body.share.grow_to(n_all_bytes)) error = boost::asio::error::no_buffer_space;
      if (error) return 0;
      // Twice the bytes that are there, and never more than there will be: who announces much takes nothing by that.
      if (n_all_bytes > bytes.capacity()) bytes.reserve(std::min<uint64_t>(2 * n_all_bytes, n_expected_bytes_));
      bytes.append(static_cast<const char*>(buffer.data()), n_bytes);
      return n_bytes;
    }

    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& value_;
    uint64_t n_expected_bytes_ = UINT64_MAX;
  };
};

}  // namespace realizar::server
