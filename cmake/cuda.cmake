# Kernels for NVIDIA GPUs: which to build, and whether nvcc can build them. Sets RZ_HAS_CUDA and RZ_CUDA_CODE, nvcc's
# options for them. Each outcome is reported in a line that begins with "realizar:", which scripts/build shows.
set(REALIZAR_GPUS here CACHE STRING
    "GPUs to build kernels for: here (those that nvidia-smi lists), all, none, or compute capabilities, as 8.6;9.0")
option(REALIZAR_STRICT_KERNELS "Make errors of nvcc's warnings, of spilled registers too" OFF)
set(RZ_HAS_CUDA OFF)
set(RZ_CUDA_CODE "")
set(RZ_LEAST_CAPABILITY 8.0)

# The compute capabilities of this machine's GPUs that the kernels support.
function(rz_gpus_here out)
  set(known "")
  find_program(NVIDIA_SMI nvidia-smi)
  if(NVIDIA_SMI)
    execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE listed ERROR_QUIET TIMEOUT 30)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" capabilities "${listed}")
    list(REMOVE_DUPLICATES capabilities)
    foreach(capability ${capabilities})
      if(capability VERSION_GREATER_EQUAL RZ_LEAST_CAPABILITY)
        list(APPEND known ${capability})
      else()
        message(STATUS "realizar: a GPU of compute capability ${capability} is not used: ${RZ_LEAST_CAPABILITY} is the least")
      endif()
    endforeach()
  endif()
  set(${out} "${known}" PARENT_SCOPE)
endfunction()

# nvcc's options for GPUs of some compute capabilities. A GPU that nvcc does not know yet gets the code of the highest
# one before it, which the driver assembles.
function(rz_code_for capabilities out)
  execute_process(COMMAND ${NVCC} --list-gpu-arch OUTPUT_VARIABLE listed ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+" known "${listed}")
  set(code "")
  foreach(capability ${capabilities})
    string(REPLACE "." "" wanted ${capability})
    set(virtual 80)
    foreach(arch ${known})
      if(arch GREATER virtual AND arch LESS_EQUAL wanted)
        set(virtual ${arch})
      endif()
    endforeach()
    set(real compute)
    if(virtual EQUAL wanted)
      set(real sm)
    endif()
    list(APPEND code "--generate-code=arch=compute_${virtual},code=[${real}_${virtual}]")
  endforeach()
  list(REMOVE_DUPLICATES code)
  set(${out} "${code}" PARENT_SCOPE)
endfunction()

# The reason why this nvcc, with its compiler for the host, cannot build the kernels; empty if it can.
function(rz_fault_of_nvcc out)
  set(source ${CMAKE_BINARY_DIR}/nvcc_trial.cu)
  file(WRITE ${source} "#include <concepts>\ntemplate <std::integral T> __global__ void add(T* x) { *x += 1; }\n"
                       "template __global__ void add<int>(int*);\n")
  execute_process(COMMAND ${NVCC} -std=c++20 -c ${source} -o ${source}.o RESULT_VARIABLE status
                  OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(fault "")
  if(NOT status EQUAL 0)
    string(REGEX MATCH "[^\n]*(error|fatal|unknown|unsupported|not (supported|defined))[^\n]*" fault "${said}")
    if(NOT fault)
      set(fault "it ends with ${status}")
    endif()
  endif()
  set(${out} "${fault}" PARENT_SCOPE)
endfunction()

# The kernels have two generations, without and with FP8's conversions; code compiled for the first GPU of a generation
# is assembled for its others. Blackwell has its own, since one kernel would otherwise not fit into its registers. GPUs
# that are not named assemble the PTX themselves.
set(RZ_CODE_FOR_ALL "--generate-code=arch=compute_80,code=[sm_80,sm_86]"
                    "--generate-code=arch=compute_89,code=[sm_89,sm_90,compute_89]"
                    "--generate-code=arch=compute_120,code=[sm_120]")

find_program(NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
set(gpus "${REALIZAR_GPUS}")
if(REALIZAR_GPUS STREQUAL "here")
  rz_gpus_here(gpus)
endif()
if(NOT REALIZAR_GPUS MATCHES "^(here|all|none|[0-9]+\\.[0-9]+(;[0-9]+\\.[0-9]+)*)$")
  message(FATAL_ERROR "REALIZAR_GPUS is '${REALIZAR_GPUS}'; it can be here, all, none, or compute capabilities: 8.6;9.0")
elseif(REALIZAR_GPUS STREQUAL "none")
  # There is nothing to look for.
elseif(NOT gpus)
  message(STATUS "realizar: no NVIDIA GPU is here, so the program is built for CPUs alone; with nvcc, "
                 "cmake --preset release -DREALIZAR_GPUS=all adds kernels for all GPUs")
elseif(NOT NVCC)
  message(STATUS "realizar: nvcc is not found, so the program is built for CPUs alone; with CUDA 12.0 or newer "
                 "installed, cmake --preset release adds the kernels for GPUs")
else()
  rz_fault_of_nvcc(fault)
  if(fault)
    message(STATUS "realizar: ${NVCC} cannot compile the kernels for GPUs (CUDA 12.0 or newer can), so the program is "
                   "built for CPUs alone: ${fault}")
  elseif(gpus STREQUAL "all")
    set(RZ_CUDA_CODE ${RZ_CODE_FOR_ALL})
  else()
    rz_code_for("${gpus}" RZ_CUDA_CODE)
  endif()
endif()
if(RZ_CUDA_CODE)
  list(JOIN gpus ", " gpu_names)
  message(STATUS "realizar: with kernels for NVIDIA GPUs (${gpu_names})")
  set(CMAKE_CUDA_COMPILER ${NVCC})
  set(CMAKE_CUDA_ARCHITECTURES OFF)  # RZ_CUDA_CODE has them
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc has it.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  find_package(CUDAToolkit REQUIRED)
  set(RZ_HAS_CUDA ON)
endif()
