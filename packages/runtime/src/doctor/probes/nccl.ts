// Opens the CUDA driver and NCCL, as a group of the backend nccl does, and prints what there is of them.
import { describeNccl } from '@ringrun/collectives';

process.stdout.write(JSON.stringify(describeNccl()));
