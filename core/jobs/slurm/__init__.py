"""The second launcher: jobs of a SLURM cluster, submitted through submitit."""
