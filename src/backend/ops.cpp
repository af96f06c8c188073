#include "backend/ops.h"

namespace realizar {

const char* to_string(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbed:
      return "embed";
    case OpKind::kNorm:
      return "norm";
    case OpKind::kLinear:
      return "linear";
    case OpKind::kGatedLinear:
      return "gated_linear";
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

}  // namespace realizar
