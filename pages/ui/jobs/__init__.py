"""What trainings and evaluations share: the page of a job, the list of jobs, networks."""
