export { openCheckpoints, type Checkpoints } from './checkpoints.ts';
export { evaluate, firstOf, tensorsOf, type Batch, type Quality } from './images.ts';
export { createNet } from './net.ts';
export { parseSettings, type Settings } from './settings.ts';
export { isPlain, loadTensorFlow, type TensorFlow } from './tensorflow.ts';
