// The launches, in RZ_LAUNCH(result, name, arguments...), of which every list of them is made: it is defined where this
// is included. RZ_SHAPED_LAUNCH: which kernels a launch has follows from types and shapes.
#ifndef RZ_SHAPED_LAUNCH
#define RZ_SHAPED_LAUNCH RZ_LAUNCH
#endif
// clang-format off
RZ_SHAPED_LAUNCH(void, embed, const EmbedArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, norm, const NormArgs&, uint32_t max_rows, Stream)
RZ_LAUNCH(void, quantize, const QuantizeArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, linear, const LinearArgs&, uint32_t max_rows, Stream)
// The same numbers for more than one row, of group types alone, by tensor cores.
RZ_SHAPED_LAUNCH(void, linear_few, const LinearArgs&, uint32_t max_rows, Stream)
// The products of any number of decode rows, of F16, bf16 and F8 alone, by tensor cores.
RZ_SHAPED_LAUNCH(void, linear_few_split, const LinearArgs&, uint32_t max_rows, Stream)
// The same for many rows, of group types alone: the integers by tensor cores, in another order of F32 sums.
RZ_SHAPED_LAUNCH(void, linear_many, const LinearArgs&, uint32_t max_rows, Stream)
// The same for many rows, of F16, bf16 and F8 alone, by tensor cores.
RZ_SHAPED_LAUNCH(void, split, const SplitArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, linear_split, const LinearArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, rope_store, const RopeStoreArgs&, uint32_t max_rows, Stream)
RZ_SHAPED_LAUNCH(void, latent_store, const LatentStoreArgs&, uint32_t max_rows, Stream)
// Rows [0, n_decode_rows); and of the others the tiles of a pass.
RZ_SHAPED_LAUNCH(void, attention_decode, const AttentionArgs&, Stream)
RZ_SHAPED_LAUNCH(void, attention_prefill, const AttentionArgs&, Stream)
// Either of them, of latents: decode rows where there are row_cuts, else the rows of a pass.
RZ_SHAPED_LAUNCH(void, attention_latent, const AttentionArgs&, Stream)
// Any of them, over a cache of F32.
RZ_SHAPED_LAUNCH(void, attention_plain, const AttentionArgs&, const RowRange&, uint32_t max_rows, Stream)
// A head's product: its part of the rows; a few rows; and the order in which linear_many and linear_split make more.
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
// Pairs of many rows are grouped by expert; linear_many makes the groups' products, and experts_sum adds them.
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
// To measure the device; `multiply` gives the number of tiles that it multiplies.
RZ_LAUNCH(void, copy, const CopyArgs&, Stream)
RZ_SHAPED_LAUNCH(uint64_t, multiply, const MultiplyArgs&, Stream)
// clang-format on
#undef RZ_LAUNCH
#undef RZ_SHAPED_LAUNCH
