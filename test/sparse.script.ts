// One rank of a test of sparse gradients: see fixtures/run-scenario.ts.
import { compileStep, F, manualSeed, nn, optim, tensor, type SparseGradient, type Tensor } from '@ringrun/nn';
import { DistributedDataParallel, getRank, getWorldSize, parametersDigest } from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';
import { runScenario } from './fixtures/run-scenario.ts';

/** Two tables and a dense layer. */
class Tables extends nn.Module {
  common = new nn.Embedding(6, 2, { sparse: true });
  rare = new nn.EmbeddingBag(4, 3, { mode: 'sum', sparse: true });
  layer = new nn.Linear(2, 1);

  /** Sums over rows: int64 [N], and of the second table if there are rows of it. */
  forward(rows: Tensor, rare?: Tensor): Tensor {
    const sum = this.layer.forward(this.common.forward(rows)).sum().add(this.common.forward(rows).sum());
    return rare ? sum.add(this.rare.forward(rare).sum()) : sum;
  }
}

const rowsOf = (...rows: number[]) => tensor(BigInt64Array.from(rows, BigInt), [rows.length]);

/** The rows that each rank of three looks up: several, one, none. */
const ownRows = () => rowsOf(...[[1, 1, 4], [4], []][getRank()]);

/** Only this rank looks up the second table. */
const ownRare = () => (getRank() === 1 ? tensor(BigInt64Array.of(3n, 3n), [1, 2]) : undefined);

function gradientsOf({ common, rare, layer }: Tables) {
  const sparse = [common, rare].map(({ weight }) => {
    const grad = weight.grad as SparseGradient | undefined;
    return grad && { indices: Array.from(grad.indices(), Number), values: [...grad] };
  });
  return { sparse, bias: [...layer.bias!.grad!] };
}

function tables(): Tables {
  const model = new Tables();
  model.layer.weight.data.fill(0);
  return model;
}

/** A matrix factorization: ratings of items by users, [N] each. */
class Recommender extends nn.Module {
  users = new nn.Embedding(40, 8, { sparse: true });
  items = new nn.Embedding(30, 8, { sparse: true });
  bias = new nn.Embedding(30, 1, { sparse: true });

  forward(users: Tensor, items: Tensor): Tensor {
    const affinity = this.users.forward(users).mul(this.items.forward(items)).sum(1);
    return affinity.add(this.bias.forward(items).squeeze(1));
  }
}

const batch = 24;

/** Ratings of a step: users and items from a formula, and a rating that depends on both by their parities. */
function ratings(step: number, begin: number, end: number): [Tensor, Tensor, Tensor] {
  const places = Array.from({ length: end - begin }, (_, i) => batch * step + begin + i);
  const users = places.map((place) => (place * 7) % 40);
  const items = places.map((place) => (place * 11 + Math.floor(place / 30)) % 30);
  const scores = users.map((user, i) => (user % 2 === items[i] % 2 ? 1 : -1));
  return [rowsOf(...users), rowsOf(...items), tensor(Float32Array.from(scores), [places.length])];
}

await runScenario({
  /** The gradients of tables of which ranks look up several rows, one, or none. */
  async average() {
    const model = new DistributedDataParallel(tables());
    await model.forward(ownRows(), ownRare()).backward();
    return gradientsOf(model.module);
  },

  /** A pass inside noSync, and then one outside, of which ranks read other rows; then a step without the second table. */
  async noSync() {
    const model = new DistributedDataParallel(tables());
    await model.noSync(() => model.forward(ownRows(), ownRare()).backward());
    const inside = model.module.common.weight.grad?.length;
    await model.forward(rowsOf(getRank(), 5)).backward();
    const outside = gradientsOf(model.module);
    for (const parameter of model.parameters()) parameter.zeroGrad();
    await model.forward(rowsOf(0)).backward();
    return { inside, outside, last: gradientsOf(model.module) };
  },

  /** Errors: ranks that disagree, options that need dense gradients, tables that are read otherwise. */
  async refuse() {
    const wrap = (sparse: boolean, options = {}) =>
      new DistributedDataParallel(new nn.Embedding(4, 2, { sparse }), options);
    const messages = [
      () => wrap(getRank() === 0),
      () => wrap(true, { shareParameters: true }),
      () => wrap(true).join(() => Promise.resolve()),
      () => {
        const { module } = wrap(false);
        return F.embedding(rowsOf(1), module.weight, { sparse: true }).sum().backward();
      },
      () => wrap(true).module.weight.sum().backward(),
    ];
    const found: (string | undefined)[] = [];
    for (const refused of messages) found.push((await errorOf(refused))?.message);
    return found;
  },

  /** Trains a recommender on this rank's part of each batch. */
  async recommend() {
    manualSeed(3);
    const model = new DistributedDataParallel(new Recommender());
    const optimizer = new optim.SparseAdam(model.parameters(), { lr: 0.05 });
    const step = compileStep(optimizer, (users: Tensor, items: Tensor, scores: Tensor) =>
      F.mseLoss(model.forward(users, items), scores),
    );
    const share = batch / getWorldSize();
    const begin = share * getRank();
    const losses: number[] = [];
    for (let at = 0; at < 150; at += 1)
      losses.push(await (await step(...ratings(at % 10, begin, begin + share))).item());
    const elements = model.parameters().flatMap(({ data }) => [...data]);
    return { first: losses[0], last: losses.at(-1), elements, digest: parametersDigest(model.module) };
  },
});
