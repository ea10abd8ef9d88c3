import { nn, type Parameter, type Tensor } from '../../src/index.ts';
import { Given, NoCounterpart } from './given.ts';
import type { Result } from './operation.ts';
import { elementsOf, Float, Other, type Decoded, type EncodedTensor } from './sample.ts';

/** Arguments of torch's constructor and `forward` that are positional in ringrun; the others are options. */
interface Signature {
  readonly constructor: string;
  readonly forward: string;
}

const takes = (constructor: string, forward = 'input'): Signature => ({ constructor, forward });
const images = (names: readonly string[], signature: Signature): Record<string, Signature> =>
  Object.fromEntries(names.flatMap((name) => [1, 2, 3].map((axes) => [`${name}${axes}d`, signature])));

const loss = takes('', 'input target');
const recurrent = takes('input_size hidden_size', 'input hx');

/** The modules of torch's module_db that ringrun has. */
export const modules: Readonly<Record<string, Signature>> = {
  ...images(['AdaptiveAvgPool', 'AdaptiveMaxPool'], takes('output_size')),
  ...images(['AvgPool', 'MaxPool'], takes('kernel_size')),
  ...images(['BatchNorm', 'InstanceNorm'], takes('num_features')),
  ...images(['Conv', 'ConvTranspose'], takes('in_channels out_channels kernel_size')),
  ...images(['ReflectionPad', 'ReplicationPad', 'ZeroPad', 'CircularPad'], takes('padding')),
  ...images(['ConstantPad'], takes('padding value')),
  ...Object.fromEntries(
    [
      'Hardswish',
      'LogSigmoid',
      'Mish',
      'ReLU',
      'ReLU6',
      'SELU',
      'SiLU',
      'Sigmoid',
      'Softmax2d',
      'Softsign',
      'Tanh',
    ]
      .concat(['Tanhshrink', 'GELU', 'Softplus'])
      .map((name) => [name, takes('')]),
  ),
  CELU: takes('alpha'),
  ELU: takes('alpha'),
  GLU: takes('dim'),
  Hardshrink: takes('lambd'),
  Hardtanh: takes('min_val max_val'),
  LeakyReLU: takes('negative_slope'),
  PReLU: takes('num_parameters init'),
  Softmax: takes('dim'),
  LogSoftmax: takes('dim'),
  Softmin: takes('dim'),
  Softshrink: takes('lambd'),
  Threshold: takes('threshold value'),
  Linear: takes('in_features out_features'),
  Bilinear: takes('in1_features in2_features out_features', 'input1 input2'),
  Embedding: takes('num_embeddings embedding_dim'),
  GroupNorm: takes('num_groups num_channels'),
  LayerNorm: takes('normalized_shape'),
  RMSNorm: takes('normalized_shape', 'x'),
  LocalResponseNorm: takes('size'),
  RNNCell: recurrent,
  GRUCell: recurrent,
  LSTMCell: recurrent,
  RNN: recurrent,
  GRU: recurrent,
  LSTM: recurrent,
  MultiheadAttention: takes('embed_dim num_heads', 'query key value'),
  TransformerEncoderLayer: takes('d_model nhead', 'src'),
  TransformerDecoderLayer: takes('d_model nhead', 'tgt memory'),
  Transformer: takes('d_model nhead', 'src tgt'),
  BCELoss: loss,
  BCEWithLogitsLoss: loss,
  CosineEmbeddingLoss: takes('', 'input1 input2 target'),
  CrossEntropyLoss: loss,
  CTCLoss: takes('', 'log_probs targets input_lengths target_lengths'),
  GaussianNLLLoss: takes('', 'input target var'),
  HingeEmbeddingLoss: loss,
  HuberLoss: loss,
  KLDivLoss: loss,
  L1Loss: loss,
  MarginRankingLoss: takes('', 'input1 input2 target'),
  MSELoss: loss,
  MultiLabelSoftMarginLoss: loss,
  MultiMarginLoss: loss,
  NLLLoss: loss,
  PoissonNLLLoss: takes('', 'log_input target'),
  SmoothL1Loss: loss,
  SoftMarginLoss: loss,
};

/** Arguments that change no element of the result. */
const ignored = ['device', 'dtype', 'inplace', 'enable_nested_tensor', 'need_weights'];

type AnyModule = nn.Module & { forward: (...inputs: unknown[]) => unknown };
type ModuleClass = new (...args: unknown[]) => AnyModule;

/** A module with the constructor arguments and the state of torch's. Adds its parameters to the list, in torch's order. */
export function moduleOf(
  name: string,
  args: Readonly<Record<string, Decoded>>,
  { training, state }: { training: boolean; state: Readonly<Record<string, EncodedTensor>> },
  trained: Parameter[],
): AnyModule {
  const positional = args['args'];
  const named = Array.isArray(positional)
    ? {
        ...Object.fromEntries(
          positional.map((one, place) => [['input_size', 'hidden_size'][place], one as Decoded]),
        ),
        ...args,
        args: undefined,
      }
    : args;
  const module = new (nn as unknown as Record<string, ModuleClass>)[name](
    ...argumentsOf(modules[name].constructor, named),
  );
  module.train(training);
  if (Object.values(state).some((one) => !('tensor' in one)))
    throw new NoCounterpart('weights of another dtype');
  const isKnown = (key: string) => !key.endsWith('num_batches_tracked');
  const given = Object.entries(state).filter(([key]) => isKnown(key));
  module.loadStateDict(
    new Map(given.map(([key, one]) => [key, { shape: one.shape, data: elementsOf(one) as Float32Array }])),
    { strict: false },
  );
  const byKey = new Map(module.namedParameters());
  const missing = [...byKey.keys()].filter((key) => !(key in state));
  if (missing.length > 0) throw new Error(`torch's ${name} has no ${missing.join()}`);
  trained.push(...byKey.values());
  return module;
}

/** The results of `forward`, and the running statistics afterwards. */
export function callModule(name: string, module: AnyModule, args: Readonly<Record<string, Decoded>>): Result {
  const result = module.forward(...argumentsOf(modules[name].forward, args));
  return [outputs(result as Result), [...module.namedBuffers()].map(([, buffer]) => buffer as Tensor)];
}

function outputs(result: Result): Result {
  if (typeof result === 'object' && 'output' in result && 'weights' in result)
    return [result['output'], result['weights']];
  return result;
}

/** Positional arguments, then the others as options. */
function argumentsOf(positional: string, args: Readonly<Record<string, Decoded>>): unknown[] {
  const names = positional.split(' ').filter(Boolean);
  const given = new Given(args);
  if (given.has('size_average') || given.has('reduce'))
    throw new NoCounterpart('`size_average` and `reduce`');
  const first = names.map((name) => plain(given.any(name)));
  const options = Object.entries(args)
    .filter(
      ([name, value]) =>
        !names.includes(name) && !ignored.includes(name) && (value !== undefined || name === 'momentum'),
    )
    .map(([name, value]) => [optionOf(name), value === undefined ? null : plain(value)]);
  return options.length > 0 ? [...first, Object.fromEntries(options)] : first;
}

const optionOf = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** 2.0 as 2. */
function plain(value: Decoded): unknown {
  if (value instanceof Float) return value.value;
  if (value instanceof Other) throw new NoCounterpart(value.what);
  return Array.isArray(value) ? (value as Decoded[]).map(plain) : value;
}
