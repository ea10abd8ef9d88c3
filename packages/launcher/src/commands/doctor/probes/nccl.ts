// Opens the CUDA driver and NCCL as the nccl backend does, and prints their versions and GPUs.
import { describeNccl } from '@ringrun/collectives';

process.stdout.write(JSON.stringify(describeNccl()));
