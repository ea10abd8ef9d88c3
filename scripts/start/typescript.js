// Registers tsx in this process and in each of its threads. `--import tsx` registers it in the main thread only.
import { register } from 'tsx/esm/api';

register();
