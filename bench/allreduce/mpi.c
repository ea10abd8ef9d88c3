// One rank of Open MPI's all-reduce: `mpirun -n 2 mpi bytes:repetitions …`. Rank 0 prints a JSON line per size.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 1; step < argc; ++step) {
    long bytes, repetitions;
    sscanf(argv[step], "%ld:%ld", &bytes, &repetitions);
    float* data = calloc(bytes / sizeof(float), sizeof(float));
    double* times = malloc(repetitions * sizeof(double));
    for (long i = -repetitions; i < repetitions; ++i) {
      const double start = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, data, bytes / sizeof(float), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (i >= 0) times[i] = (MPI_Wtime() - start) * 1e6;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      printf("{\"bytes\":%ld,\"times\":[", bytes);
      for (long i = 0; i < repetitions; ++i) printf("%s%.3f", i ? "," : "", times[i]);
      printf("]}\n");
      fflush(stdout);
    }
    free(times);
    free(data);
  }
  MPI_Finalize();
  return 0;
}
