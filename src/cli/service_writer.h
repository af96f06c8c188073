// A Writer whose model is in a running server.
#pragma once

#include <memory>
#include <string>

#include "cli/service.h"
#include "cli/writer.h"

namespace realizar::cli {

// `given`: a file or folder, or a name. The server loads the model where it has to. Errors: ResourceExhausted where the
// server has no memory for it; NotFound; those of loading.
Result<std::unique_ptr<Writer>> service_writer(std::unique_ptr<Service> service, const std::string& given);

}  // namespace realizar::cli
