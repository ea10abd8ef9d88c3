/** What @tensorflow/tfjs, tfjs-node and tfjs-node-gpu have in common. */
export type TensorFlow = typeof import('@tensorflow/tfjs');

/** Loads one of the three packages by its name. */
export async function loadTensorFlow(name: string): Promise<TensorFlow> {
  const tf = (await import(name)) as TensorFlow;
  await tf.ready();
  return tf;
}

/** Whether TensorFlow.js computes in plain JavaScript here. */
export function isPlain(tf: TensorFlow): boolean {
  return tf.getBackend() === 'cpu';
}
