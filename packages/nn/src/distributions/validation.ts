let isDefault = true;

/** Sets the default of the option `validateArgs` of all distributions (torch.distributions.Distribution.set_default_validate_args). */
export function setDefaultValidateArgs(value: boolean): void {
  isDefault = value;
}

export function validatesByDefault(): boolean {
  return isDefault;
}
