"""The papers' linear methods: Gram matrix and cross moment released apart."""
