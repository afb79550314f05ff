"""Methods on one perturbed objective: ``dp-erm``, ``napp-public``, and paper D as published."""
