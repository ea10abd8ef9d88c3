const factors: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** The number that a quantity of Kubernetes stands for: `500m` is 0.5, `2Gi` is 2147483648. */
export function parseQuantity(quantity: string | number): number {
  const match = /^(\d+(?:\.\d+)?)(|m|k|M|G|Ki|Mi|Gi)$/.exec(String(quantity));
  if (match === null) throw new Error(`quantity: expected a number such as 500m or 2Gi, got ${quantity}`);
  return Number(match[1]) * factors[match[2]];
}
