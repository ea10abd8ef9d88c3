/** Either `inputShape` or `inputs` is required. */
export interface ExportOptions {
  /** Shape of the only input, which is float32; the first dimension is the batch. */
  inputShape?: readonly number[];
  /** Name of the only input. Default: 'input'. */
  inputName?: string;
  /** The arguments of `forward`, in their order. */
  inputs?: readonly ExportInput[];
  /** Name of the only output. Default: 'output'. */
  outputName?: string;
  /** Names of the outputs, in `forward`'s order. Default: the keys of an object, or `output_0`, … for an array. */
  outputNames?: readonly string[];
  /**
   * 'int8': store the weights of matrix products, convolutions and embeddings in 8 bits, and quantize the activations of products
   * at run time (onnxruntime.quantization.quantize_dynamic). The file is up to 4 times smaller. Default: float32.
   */
  quantize?: 'int8';
}

/** An input of the exported model. */
export interface ExportInput {
  /** Name in the exported model. Default: `input`, or `input_0`, `input_1`, … if there are several. */
  name?: string;
  /**
   * The first dimension is the batch. `forward` must accept this batch size and multiples of it; smaller sizes that it accepts
   * are supported too. Other dynamic dimensions have their largest size here, at least 4.
   */
  shape: readonly number[];
  /** Element type. Default: 'float32'. */
  dtype?: 'float32' | 'int64';
  /** If true, this input keeps its exact shape: a mask without a batch, or a model that needs a fixed batch. Default: false. */
  fixed?: boolean;
  /**
   * Names of the dynamic dimensions by their positions (torch.onnx.export's dynamic_axes): `{ 0: 'batch', 1: 'length' }`. A
   * name shared by several inputs stands for one size. Default: `{ 0: 'batch' }`.
   */
  dynamicAxes?: Readonly<Record<number, string>>;
}
