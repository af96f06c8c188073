# nvcc, where it usually is. RZ_HAS_CUDA says whether kernels can be compiled.
option(REALIZAR_CUDA "Build the GPU's kernels where nvcc is found" ON)
set(RZ_HAS_CUDA OFF)
if(REALIZAR_CUDA)
  find_program(NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
  if(NVCC)
    set(CMAKE_CUDA_COMPILER ${NVCC})
    set(CMAKE_CUDA_ARCHITECTURES OFF)  # RZ_CUDA_CODE has them
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc has it.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    find_package(CUDAToolkit REQUIRED)
    set(RZ_HAS_CUDA ON)
    # The kernels know two generations, without and with FP8's conversions; what is compiled for the first of one is
    # assembled for its others. Blackwell has its own, since there one kernel would not fit its registers otherwise. GPUs
    # that are not named assemble the PTX themselves.
    set(RZ_CUDA_CODE "--generate-code=arch=compute_80,code=[sm_80,sm_86]"
                     "--generate-code=arch=compute_89,code=[sm_89,sm_90,compute_89]"
                     "--generate-code=arch=compute_120,code=[sm_120]"
        CACHE STRING "nvcc's --generate-code options: a build for one GPU takes a sixth of the time")
  else()
    message(STATUS "Without a CUDA compiler: the program runs on the CPU alone")
  endif()
endif()
