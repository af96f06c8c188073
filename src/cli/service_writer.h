// A Writer whose model runs in a server.
#pragma once

#include <memory>
#include <string>

#include "cli/service.h"
#include "cli/writer.h"

namespace realizar::cli {

// `given`: a file or folder, or a name. The server loads the model if necessary. Errors: ResourceExhausted if the
// server has no memory for it; NotFound; those of loading.
Result<std::unique_ptr<Writer>> service_writer(std::unique_ptr<Service> service, const std::string& given);

}  // namespace realizar::cli
