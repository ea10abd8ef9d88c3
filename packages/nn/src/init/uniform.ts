import { sizeOf } from '../graph/node.ts';
import { Parameter } from '../parameter.ts';
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
