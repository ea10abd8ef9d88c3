import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = new URL('../../', import.meta.url);

/** The public names of ringrun by the family of torch that they belong to, read from the declarations of the packages. */
export function publicNames() {
  const nnFile = fileURLToPath(new URL('packages/nn/dist/index.d.ts', root));
  const runtimeFile = fileURLToPath(new URL('packages/runtime/dist/index.d.ts', root));
  const program = ts.createProgram([nnFile, runtimeFile], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const exportsOf = (symbol) =>
    new Map(checker.getExportsOfModule(symbol).map((one) => [one.name, resolved(one)]));
  const resolved = (symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const file = (path) => exportsOf(checker.getSymbolAtLocation(program.getSourceFile(path)));
  const members = (symbol) =>
    new Set(checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map(({ name }) => name));
  const inside = (names, ...path) =>
    path.reduce((scope, name) => (scope.has(name) ? exportsOf(scope.get(name)) : new Map()), names);

  const nn = file(nnFile);
  const keys = (map) => new Set(map.keys());
  const runtime = keys(file(runtimeFile));
  return {
    torch: keys(nn),
    'torch.Tensor': members(nn.get('Parameter')),
    'torch.nn': keys(inside(nn, 'nn')),
    'torch.nn.Module': members(inside(nn, 'nn').get('Module')),
    'torch.nn.functional': keys(inside(nn, 'F')),
    'torch.nn.init': keys(inside(nn, 'nn', 'init')),
    'torch.nn.utils': keys(inside(nn, 'nn', 'utils')),
    'torch.nn.utils.rnn': keys(inside(nn, 'nn', 'utils', 'rnn')),
    'torch.nn.utils.parametrizations': keys(inside(nn, 'nn', 'utils', 'parametrizations')),
    'torch.distributions': keys(inside(nn, 'distributions')),
    'torch.distributions.Distribution': members(inside(nn, 'distributions').get('Distribution')),
    'torch.optim': keys(inside(nn, 'optim')),
    'torch.optim.Optimizer': members(inside(nn, 'optim').get('Optimizer')),
    'torch.optim.lr_scheduler': keys(inside(nn, 'optim', 'lrScheduler')),
    'torch.optim.swa_utils': keys(inside(nn, 'optim', 'swaUtils')),
    'torch.distributed': runtime,
    'torch.utils.data': runtime,
  };
}
