import { MemberDict } from './member-dict.ts';
import { Module } from './module.ts';

/** Modules by name, registered as children (torch.nn.ModuleDict): `dict.at('encoder')` has the parameters `encoder.weight`, … */
export class ModuleDict<M extends Module = Module> extends MemberDict<M> {
  protected get kind(): abstract new () => M {
    return Module as abstract new () => M;
  }
}
