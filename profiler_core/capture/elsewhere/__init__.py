"""A capture on another machine: over ssh, as a job of Slurm, or as a Job of Kubernetes.

`host` says which machine, `plan` what will run there, `near` leads it from here, `there` is what
runs there. Over ssh and Kubernetes both sides speak as `jobs/runner_side.py` says; Slurm's job
shares a folder with whoever submitted it.
"""
