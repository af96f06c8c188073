#include "backend/ops.h"

namespace realizar {

namespace {

const char* to_string(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbed:
      return "embed";
    case OpKind::kNorm:
      return "norm";
    case OpKind::kLinear:
    case OpKind::kGatedLinear:
      return "linear";
    case OpKind::kRopeStore:
      return "rope_store";
    case OpKind::kAttention:
      return "attention";
    case OpKind::kRoute:
      return "route";
    case OpKind::kExperts:
      return "experts";
    case OpKind::kSelectRows:
      return "select_rows";
    case OpKind::kChoose:
      return "choose";
  }
  return "unknown";
}

const char* to_string(OpRole role) {
  switch (role) {
    case OpRole::kNone:
      return "";
    case OpRole::kQkv:
      return "qkv";
    case OpRole::kO:
      return "o";
    case OpRole::kGateUp:
      return "gate_up";
    case OpRole::kUp:
      return "up";
    case OpRole::kDown:
      return "down";
    case OpRole::kRouter:
      return "router";
    case OpRole::kHead:
      return "head";
    case OpRole::kAttn:
      return "attn";
    case OpRole::kFfn:
      return "ffn";
    case OpRole::kPost:
      return "post";
    case OpRole::kFinal:
      return "final";
  }
  return "unknown";
}

}  // namespace

std::string name_of(OpKind kind, OpRole role) {
  std::string name = to_string(kind);
  if (role != OpRole::kNone) name += std::string(".") + to_string(role);
  return name;
}

}  // namespace realizar
