import type { TorchNames } from './torch-names.ts';

/** Attributes and methods of torch.nn.Module. */
export const moduleNames: TorchNames = {
  add_module: 'Assign the module to a property: `this.name = module`.',
  bfloat16: "Parameters are float32. Use autocast({ dtype: 'bfloat16' }, () => …).",
  compile: 'compileStep(optimizer, (batch) => loss)',
  cpu: "module.to('cpu')",
  cuda: "module.to('cuda')",
  double: 'Parameters are float32.',
  float: 'Parameters are float32: remove the call.',
  get_buffer: 'Object.fromEntries(module.namedBuffers())[name]',
  get_parameter: 'Object.fromEntries(module.namedParameters())[name]',
  half: 'Parameters are float32.',
  register_buffer: 'Assign it to a property: `this.name = new BufferTensor(data, shape)`.',
  register_module: 'Assign the module to a property: `this.name = module`.',
  register_parameter: 'Assign it to a property: `this.name = new Parameter(data, shape)`.',
  share_memory: 'Use `new DistributedDataParallel(module, { shareParameters: true })`.',
  type: 'Parameters are float32.',
};
