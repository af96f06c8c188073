// The launches of the table, each in the .cu of its family.
void embed(const EmbedArgs& a, uint32_t max_rows, Stream stream);
void norm(const NormArgs& a, uint32_t max_rows, Stream stream);
void quantize(const QuantizeArgs& a, uint32_t max_rows, Stream stream);
void linear(const LinearArgs& a, uint32_t max_rows, Stream stream);
void linear_many(const LinearArgs& a, uint32_t max_rows, Stream stream);
void rope_store(const RopeStoreArgs& a, uint32_t max_rows, Stream stream);
void attention_decode(const AttentionArgs& a, uint32_t max_rows, Stream stream);
void attention_prefill(const AttentionArgs& a, uint32_t max_tiles, Stream stream);
void route(const RouteArgs& a, uint32_t max_rows, Stream stream);
void experts_hidden(const ExpertsHiddenArgs& a, uint32_t max_rows, Stream stream);
void experts_down(const ExpertsDownArgs& a, uint32_t max_rows, Stream stream);
void select_rows(const SelectRowsArgs& a, uint32_t max_rows, Stream stream);
