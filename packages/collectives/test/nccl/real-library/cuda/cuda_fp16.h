// nccl.h includes it for users of __half.
#pragma once
