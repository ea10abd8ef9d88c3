import { Parameter } from '../tensor/parameter.ts';
import { MemberDict } from './member-dict.ts';
import { writeParameters } from './repr.ts';

/** Parameters by name, registered in their module (torch.nn.ParameterDict): `dict.at('scale')` is the parameter `scale`. */
export class ParameterDict extends MemberDict<Parameter> {
  protected get kind(): typeof Parameter {
    return Parameter;
  }

  /** @internal */
  override extraRepr(): string {
    return writeParameters([...this], 'torch.FloatTensor');
  }
}
