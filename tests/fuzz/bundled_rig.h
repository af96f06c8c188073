// The bundled model as a server would hold it, loaded once for all inputs of a fuzz target.
#pragma once

#include "require.h"
#include "server/call/served_model_rig.h"

inline realizar::server::ServedModelRig& rig() {
  static realizar::server::ServedModelRig rig(RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf");
  require(rig.is_ready());
  return rig;
}
