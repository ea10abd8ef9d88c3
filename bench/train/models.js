// The models of bench:train, from the examples; bench/train/models.py has the same in PyTorch. `shape` is the shape of
// one image, `steps` the number of measured steps of a row, and `warmUp` the number of earlier steps in each process.

// V8 optimizes the functions of a small step in the background for the first 3,000 steps, on threads that compete with the
// ranks: 0.13 ms of each step of the CIFAR-10 CNN.
const small = { steps: 1000, warmUp: { ringrun: 4000, pytorch: 1000 } };

export const models = {
  mnist: { from: '@ringrun/examples-mnist', model: 'Net', shape: [1, 28, 28], ...small },
  cifar: { from: '@ringrun/examples-cifar', model: 'Cnn', shape: [3, 32, 32], ...small },
  resnet18: {
    from: '@ringrun/examples-cifar',
    model: 'ResNet18',
    shape: [3, 32, 32],
    steps: 6,
    warmUp: { ringrun: 2, pytorch: 2 },
  },
};

/** Creates a model. `load` imports a package. */
export async function createModel(name, load = (specifier) => import(specifier)) {
  const { from, model } = models[name];
  const { [model]: Model } = await load(from);
  return new Model();
}

/** Random images and classes, different for every seed. */
export function randomBatch(name, batch, seed) {
  const size = batch * models[name].shape.reduce((product, length) => product * length);
  return {
    images: Float32Array.from({ length: size }, (_, i) => Math.sin(i * 12.9898 + seed)),
    classes: BigInt64Array.from({ length: batch }, (_, i) => BigInt((i * 7 + seed) % 10)),
  };
}
