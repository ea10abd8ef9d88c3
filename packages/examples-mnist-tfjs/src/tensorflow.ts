/** The API shared by @tensorflow/tfjs, tfjs-node and tfjs-node-gpu. */
export type TensorFlow = typeof import('@tensorflow/tfjs');

/** Imports one of the three packages by name. */
export async function loadTensorFlow(name: string): Promise<TensorFlow> {
  const tf = (await import(name)) as TensorFlow;
  await tf.ready();
  return tf;
}

/** True if TensorFlow.js computes in plain JavaScript. */
export function isPlain(tf: TensorFlow): boolean {
  return tf.getBackend() === 'cpu';
}
