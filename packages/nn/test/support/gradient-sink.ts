import type { DistributedParameter, GradientPass, GradientSink } from 'ringrun';

interface SinkSettings extends Partial<Pick<GradientPass, 'bucketReady'>> {
  arrayOf?: GradientSink['arrayOf'];
  bucketIndexOf?: GradientSink['bucketIndexOf'];
  done?: () => Promise<void>;
}

/** A sink with an array for each parameter that averages nothing. */
export function gradientSink(settings: SinkSettings = {}): GradientSink {
  const arrays = new WeakMap<DistributedParameter, Float32Array>();
  const ownArray = (parameter: DistributedParameter) => {
    const array = arrays.get(parameter) ?? new Float32Array(parameter.data.length);
    arrays.set(parameter, array);
    return array;
  };
  const pass: GradientPass = {
    bucketReady: settings.bucketReady ?? (() => undefined),
    startableAt: () => undefined,
    done: settings.done ?? (() => Promise.resolve()),
    abandon: (error) => error,
  };
  return {
    arrayOf: settings.arrayOf ?? ownArray,
    bucketIndexOf: settings.bucketIndexOf ?? (() => 0),
    beginPass: () => pass,
  };
}
