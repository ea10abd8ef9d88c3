import { sizeOf } from '../value-type.ts';
import { Parameter } from '../tensor/parameter.ts';
import { defaultGenerator } from '../random/generator.ts';

/**
 * A parameter initialized uniformly in ±1/√fanIn: torch's default for weight (kaiming_uniform_ with a = √5) and bias of
 * Linear and Conv2d.
 *
 * @param fanIn number of inputs that one output sums over
 */
export function uniformByFanIn(shape: readonly number[], fanIn: number): Parameter {
  const data = new Float32Array(sizeOf(shape));
  const bound = 1 / Math.sqrt(fanIn);
  defaultGenerator.fillUniform(data, -bound, bound);
  return new Parameter(data, shape);
}

/** A parameter [out, in] initialized uniformly in ±√(6 / (in + out)) (torch.nn.init.xavier_uniform_; Glorot and Bengio, 2010). */
export function xavierUniform(shape: readonly [out: number, input: number]): Parameter {
  const data = new Float32Array(sizeOf(shape));
  const bound = Math.sqrt(3) * Math.sqrt(2 / (shape[0] + shape[1]));
  defaultGenerator.fillUniform(data, -bound, bound);
  return new Parameter(data, shape);
}
