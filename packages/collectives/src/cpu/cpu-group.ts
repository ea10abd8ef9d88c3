import type { NativeCalls } from '../native-group/native-calls.ts';
import type { GroupSettings } from '../native-group/native-group.ts';
import { NativeGroup } from '../native-group/native-group.ts';

/** A process group on CPUs: shared memory within a host, TCP between hosts. It reports torch's name, `gloo`. */
export class CpuGroup extends NativeGroup {
  /** @internal */
  constructor(calls: NativeCalls, settings: Omit<GroupSettings, 'backend'>) {
    super(calls, { ...settings, backend: 'gloo' });
  }
}
