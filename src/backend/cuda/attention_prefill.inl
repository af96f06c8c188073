// Attention of prompt rows.

void attention_prefill(const AttentionArgs& a, uint32_t max_rows, Stream stream) {
  with_kv_type(a.cache.type, [&](auto kv) {
    plain_attention<decltype(kv)>(a, {a.step.n_decode_rows, a.step.n_rows}, max_rows, stream);
  });
}
