class no_grad:

    def __init__(self):
        self.before = True

    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, kind: Any, error: Any, trace: Any):
        torch.set_grad_enabled(self.before)

class enable_grad:

    def __init__(self):
        self.before = True

    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(True)

    def __exit__(self, kind: Any, error: Any, trace: Any):
        torch.set_grad_enabled(self.before)
