import type { LayersModel, Optimizer, Tensor } from '@tensorflow/tfjs';
import { Checkpointer, type Stateful } from 'ringrun';
import type { Settings } from './settings.ts';
import type { TensorFlow } from './tensorflow.ts';

/** An array of a checkpoint. */
interface SavedTensor {
  name: string;
  data: Float32Array | Int32Array;
  shape: number[];
}

interface SavedVariables {
  model: SavedTensor[];
  optimizer: SavedTensor[];
}

/** The variables of a model and of its optimizer. Call `read` before they are saved: optimizers have them in promises. */
class Variables implements Stateful {
  readonly #tf: TensorFlow;
  readonly #model: LayersModel;
  readonly #optimizer: Optimizer;
  #saved: SavedVariables = { model: [], optimizer: [] };
  /** Resolves when the optimizer has its variables of a checkpoint. */
  loaded: Promise<void> = Promise.resolve();

  constructor(tf: TensorFlow, model: LayersModel, optimizer: Optimizer) {
    this.#tf = tf;
    this.#model = model;
    this.#optimizer = optimizer;
  }

  async read(): Promise<void> {
    const saved = (name: string, tensor: Tensor): SavedTensor => ({
      name,
      data: tensor.dataSync<'float32' | 'int32'>(),
      shape: tensor.shape,
    });
    const optimizer = await this.#optimizer.getWeights();
    this.#saved = {
      model: this.#model.getWeights().map((tensor, index) => saved(String(index), tensor)),
      optimizer: optimizer.map(({ name, tensor }) => saved(name, tensor)),
    };
  }

  stateDict(): SavedVariables {
    return this.#saved;
  }

  loadStateDict({ model, optimizer }: SavedVariables): void {
    const tensorOf = ({ data, shape }: SavedTensor) => this.#tf.tensor(data, shape);
    this.#model.setWeights(model.map(tensorOf));
    const weights = optimizer.map((one) => ({ name: one.name, tensor: tensorOf(one) }));
    this.loaded = this.#optimizer.setWeights(weights);
  }
}

/** Checkpoints of a training, or functions that do nothing without `--output` and `--resume`. */
export interface Checkpoints {
  /** Number of epochs that a resumed training has completed. */
  readonly epochs: number;
  /** Saves after an epoch. A collective. */
  readonly save: (epochs: number) => Promise<void>;
  /** Resolves when all checkpoints are written. A collective. */
  readonly finished: () => Promise<void>;
}

/** Resumes a training, if `--resume` is given. A collective. */
export async function openCheckpoints(
  { output, resume }: Settings,
  parts: { tf: TensorFlow; model: LayersModel; optimizer: Optimizer; loader: Stateful },
): Promise<Checkpoints> {
  const dir = output ?? resume;
  if (dir === undefined)
    return { epochs: 0, save: () => Promise.resolve(), finished: () => Promise.resolve() };
  const checkpoints = new Checkpointer({ dir });
  const variables = new Variables(parts.tf, parts.model, parts.optimizer);
  checkpoints.register({ variables, loader: parts.loader });
  const resumed = await checkpoints.resume(resume);
  await variables.loaded;
  return {
    epochs: resumed?.epoch ?? 0,
    save: async (epochs) => {
      if (output === undefined) return;
      await variables.read();
      await checkpoints.save({ step: epochs, epoch: epochs });
    },
    finished: () => checkpoints.finished(),
  };
}
