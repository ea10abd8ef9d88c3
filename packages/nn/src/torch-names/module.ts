import type { TorchNames } from './torch-names.ts';

const host = 'Modules are in host memory: remove the call.';

/** Attributes and methods of torch.nn.Module. */
export const moduleNames: TorchNames = {
  add_module: 'this.name = module, a property of the module',
  bfloat16: 'Parameters are float32.',
  cpu: host,
  cuda: host,
  double: 'Parameters are float32.',
  extra_repr: 'A module is printed with its properties.',
  float: host,
  get_buffer: 'Object.fromEntries(module.namedBuffers())[name]',
  get_parameter: 'Object.fromEntries(module.namedParameters())[name]',
  half: 'Parameters are float32.',
  register_buffer: 'this.name = new BufferTensor(data, shape), a property of the module',
  register_module: 'this.name = module, a property of the module',
  register_parameter: 'this.name = new Parameter(data, shape), a property of the module',
  share_memory: '{ shareParameters: true } of DistributedDataParallel',
  to: host,
  type: 'Parameters are float32.',
};
