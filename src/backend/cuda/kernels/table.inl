// The table of the launches of this namespace.
#define RZ_LAUNCH(Result, name, ...) .name = name,
constexpr KernelTable kKernelTable{
#include "backend/cuda/kernels/launches.inl"
};
