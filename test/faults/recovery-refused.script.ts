// Prints the errors of all uses that faultTolerance refuses.
import { nn, type Tensor } from '@ringrun/nn';
import { DistributedDataParallel, commHooks, destroyProcessGroup, initProcessGroup } from 'ringrun';

class Normalized extends nn.Module {
  norm = new nn.SyncBatchNorm(2);

  forward(points: Tensor): Tensor {
    return this.norm.forward(points);
  }
}

async function messageOf(act: () => unknown): Promise<string> {
  try {
    await act();
    return 'nothing was thrown';
  } catch (error) {
    return (error as { code?: string }).code === 'ERR_FAULT_TOLERANCE'
      ? (error as Error).message
      : String(error);
  }
}

const options = { faultTolerance: 'shrink' } as const;
await initProcessGroup();
const ddp = new DistributedDataParallel(new nn.Linear(2, 2), options);
console.log(
  JSON.stringify({
    syncBatchNorm: await messageOf(() => new DistributedDataParallel(new Normalized(), options)),
    second: await messageOf(() => new DistributedDataParallel(new nn.Linear(2, 2), options)),
    hookAfterState: await messageOf(async () => {
      await ddp.shareState();
      ddp.registerCommHook(commHooks.fp16Compress);
    }),
    join: await messageOf(() => ddp.join(() => Promise.resolve())),
  }),
);
await destroyProcessGroup();
