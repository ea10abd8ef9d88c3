import { describe, expect, test } from 'vitest';
import { nn, type Tensor } from '../../src/index.ts';

class Net extends nn.Module {
  readonly layers = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU());
  readonly named = new nn.ModuleDict({ head: new nn.Linear(3, 1) });

  forward(x: Tensor): Tensor {
    return this.named.at('head').forward(this.layers.forward(x));
  }
}

describe('submodules by path', () => {
  test('are found in modules, sequences and dictionaries', () => {
    const net = new Net();
    expect(net.getSubmodule('')).toBe(net);
    expect(net.getSubmodule('layers.0')).toBe(net.layers[0]);
    expect(net.getSubmodule('named.head')).toBe(net.named.at('head'));
  });

  test('are replaced, and forward uses the new ones', () => {
    const net = new Net();
    const keys = [...net.stateDict().keys()];
    const [first, head] = [new nn.Linear(2, 3), new nn.Linear(3, 1)];
    net.setSubmodule('layers.0', first);
    net.setSubmodule('named.head', head);
    expect(net.getSubmodule('layers.0')).toBe(first);
    expect(net.named.at('head')).toBe(head);
    expect([...net.stateDict().keys()]).toEqual(keys);
    net.setSubmodule('extra', new nn.Linear(1, 1));
    expect(net.namedChildren().map(([name]) => name)).toEqual(['layers', 'named', 'extra']);
  });

  test('that are missing, or no modules, are an error', () => {
    const net = new Net();
    expect(() => net.getSubmodule('layers.7')).toThrow(
      "Net: expected the path of a submodule, got 'layers.7'.",
    );
    expect(() => {
      net.setSubmodule('none.x', new nn.ReLU());
    }).toThrow("got 'none'");
    expect(() => {
      net.setSubmodule('layers.0', null as unknown as nn.Module);
    }).toThrow("got 'layers.0' and");
    expect(() => {
      net.setSubmodule('', new nn.ReLU());
    }).toThrow('expected a path and a Module');
  });
});
