// The launches, in RZ_LAUNCH(result, name, arguments...), from which every list of them is generated; the includer
// defines the macro. RZ_SHAPED_LAUNCH: the kernels of a launch depend on types and shapes.
#ifndef RZ_SHAPED_LAUNCH
#define RZ_SHAPED_LAUNCH RZ_LAUNCH
#endif
// clang-format off
RZ_SHAPED_LAUNCH(void, embed, const EmbedArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, norm, const NormArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, quantize, const QuantizeArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, linear, const LinearArgs&, uint32_t max_rows, Stream)
// linear for several rows, with the same sums: only group types, by tensor cores.
RZ_SHAPED_LAUNCH(void, linear_few, const LinearArgs&, uint32_t max_rows, Stream)
// Any number of decode rows: only F16, bf16 and F8, by tensor cores.
RZ_SHAPED_LAUNCH(void, linear_few_split, const LinearArgs&, uint32_t max_rows, Stream)
// Many rows: only group types, with integer products by tensor cores and another order of F32 sums.
RZ_SHAPED_LAUNCH(void, linear_many, const LinearArgs&, uint32_t max_rows, Stream)
// Many rows: only F16, bf16 and F8, by tensor cores.
RZ_SHAPED_LAUNCH(void, split, const SplitArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, linear_split, const LinearArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, rope_store, const RopeStoreArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, latent_store, const LatentStoreArgs&, uint32_t max_rows, Stream)
// Rows [0, n_decode_rows), and the tiles of a pass of the others.
RZ_SHAPED_LAUNCH(void, attention_decode, const AttentionArgs&, Stream)
RZ_SHAPED_LAUNCH(void, attention_prefill, const AttentionArgs&, Stream)
// Latents: decode rows if there are row_cuts, else the rows of a pass.
RZ_SHAPED_LAUNCH(void, attention_latent, const AttentionArgs&, Stream)
// Any rows, with an F32 cache.
RZ_SHAPED_LAUNCH(void, attention_plain, const AttentionArgs&, const RowRange&, uint32_t max_rows, Stream)
// HeadLinearOp: a head's part of the rows; few rows; grouping of many rows for linear_many or linear_split.
RZ_LAUNCH(void, head_parts, const HeadPartsArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, head_linear, const HeadLinearArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, group_heads, const GroupHeadsArgs&, Stream)
// Whole sequences, of at most max_rows rows together.
RZ_LAUNCH(void, short_conv, const ShortConvArgs&, uint32_t max_seqs, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, state_scan, const StateScanArgs&, uint32_t max_seqs, Stream)
RZ_SHAPED_LAUNCH(void, delta_rule, const DeltaRuleArgs&, uint32_t max_seqs, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, wkv, const WkvArgs&, uint32_t max_seqs, uint32_t max_rows, Stream)
RZ_LAUNCH(void, route, const RouteArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, experts_hidden, const ExpertsHiddenArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, experts_down, const ExpertsDownArgs&, uint32_t max_rows, Stream)
// Pairs of many rows are grouped by expert; linear_many computes the groups' products, and experts_sum adds them.
RZ_LAUNCH(void, group_pairs, const GroupPairsArgs&, Stream)
RZ_LAUNCH(void, experts_sum, const ExpertsSumArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, gate, const GateArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, cut, const CutArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, altup, const AltUpArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, adapter_down, const AdapterDownArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, adapter_up, const AdapterUpArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, select_rows, const SelectRowsArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, sum_parts, const SumPartsArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, choose, const ChooseArgs&, uint32_t max_rows, Stream)
// Measurements of the device; `multiply` returns the number of tiles that it multiplies.
RZ_LAUNCH(void, copy, const CopyArgs&, Stream)
RZ_SHAPED_LAUNCH(uint64_t, multiply, const MultiplyArgs&, Stream)
// clang-format on
#undef RZ_LAUNCH
#undef RZ_SHAPED_LAUNCH
