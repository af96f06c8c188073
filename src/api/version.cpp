#include "realizar/engine.h"

namespace realizar {

const char* version() {
  return RZ_VERSION;
}

}  // namespace realizar
