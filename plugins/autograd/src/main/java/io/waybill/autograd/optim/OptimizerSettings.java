package io.waybill.autograd.optim;

/** Algorithm of an optimizer, with PyTorch's names and defaults. */
public sealed interface OptimizerSettings {

    /** Returns the learning rate. */
    double lr();

    /**
     * Stochastic gradient descent.
     *
     * @param lr learning rate
     * @param momentum factor of the velocity; 0 for none
     * @param dampening of the momentum
     * @param weightDecay L2 penalty
     * @param nesterov whether the momentum is Nesterov's, which needs a momentum and no dampening
     */
    record Sgd(double lr, double momentum, double dampening, double weightDecay, boolean nesterov)
            implements OptimizerSettings {

        public Sgd {
            require("lr", lr);
            require("momentum", momentum);
            require("weightDecay", weightDecay);
            if (nesterov && (momentum == 0 || dampening != 0)) {
                throw new IllegalArgumentException("Nesterov momentum requires a momentum and zero dampening");
            }
        }

        /** Creates settings without momentum and weight decay. */
        public Sgd(double lr) {
            this(lr, 0, 0, 0, false);
        }
    }

    /**
     * Adam.
     *
     * @param lr learning rate
     * @param beta1 decay of the running average of gradients, below 1
     * @param beta2 decay of the running average of their squares, below 1
     * @param eps added to the denominator
     * @param weightDecay L2 penalty
     * @param amsgrad whether to use the maximum of past squares
     */
    record Adam(double lr, double beta1, double beta2, double eps, double weightDecay, boolean amsgrad)
            implements OptimizerSettings {

        public Adam {
            requireAdam(lr, beta1, beta2, eps, weightDecay);
        }

        /** Creates settings with PyTorch's defaults. */
        public Adam(double lr) {
            this(lr, 0.9, 0.999, 1e-8, 0, false);
        }
    }

    /**
     * Adam with decoupled weight decay; parameters like those of {@link Adam}.
     *
     * @param lr learning rate
     * @param beta1 decay of the running average of gradients, below 1
     * @param beta2 decay of the running average of their squares, below 1
     * @param eps added to the denominator
     * @param weightDecay coefficient of the decay
     * @param amsgrad whether to use the maximum of past squares
     */
    record AdamW(double lr, double beta1, double beta2, double eps, double weightDecay, boolean amsgrad)
            implements OptimizerSettings {

        public AdamW {
            requireAdam(lr, beta1, beta2, eps, weightDecay);
        }

        /** Creates settings with PyTorch's defaults. */
        public AdamW(double lr) {
            this(lr, 0.9, 0.999, 1e-8, 1e-2, false);
        }
    }

    private static void requireAdam(double lr, double beta1, double beta2, double eps, double weightDecay) {
        require("lr", lr);
        require("eps", eps);
        require("weightDecay", weightDecay);
        require("beta1", beta1);
        require("beta2", beta2);
        if (beta1 >= 1 || beta2 >= 1) {
            throw new IllegalArgumentException("betas must be below 1: " + beta1 + ", " + beta2);
        }
    }

    private static void require(String name, double value) {
        if (!(value >= 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException(name + " must be a finite number from 0: " + value);
        }
    }
}
