import type { Sequential } from '@tensorflow/tfjs';
import type { TensorFlow } from './tensorflow.ts';

/** The CNN of Kubeflow's MNIST example. Maps images [N, 28, 28, 1] to probabilities [N, 10]; 431,080 parameters. */
export function createNet({ layers, sequential }: TensorFlow): Sequential {
  const activation = 'relu';
  return sequential({
    layers: [
      layers.conv2d({ inputShape: [28, 28, 1], filters: 20, kernelSize: 5, activation }),
      layers.maxPooling2d({ poolSize: 2 }),
      layers.conv2d({ filters: 50, kernelSize: 5, activation }),
      layers.maxPooling2d({ poolSize: 2 }),
      layers.flatten(),
      layers.dense({ units: 500, activation }),
      layers.dense({ units: 10, activation: 'softmax' }),
    ],
  });
}
