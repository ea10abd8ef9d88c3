export { ConsoleLogger, type ConsoleLoggerOptions } from './console-logger.ts';
export { CSVLogger } from './csv-logger.ts';
export { JsonLinesLogger, type FileLoggerOptions } from './json-lines-logger.ts';
export { RankZeroLogger, type Hyperparameters, type Logger, type Outcome } from './logger.ts';
export { MLflowLogger, type MLflowLoggerOptions } from './mlflow/mlflow-logger.ts';
export { TensorBoardLogger, type TensorBoardLoggerOptions } from './tensor-board-logger.ts';
