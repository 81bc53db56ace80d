/**
 * libtorch's operators as message handlers: {@link io.waybill.script.ScriptCall} responds to a call to an operator by
 * its name.
 *
 * <p>The path of a call: {@link io.waybill.script.ScriptEngine} finds in {@link io.waybill.script.Operators} the
 * {@link io.waybill.script.Operator} of a name, the operator chooses the {@link io.waybill.script.Overload} whose
 * {@link io.waybill.script.Signature} the arguments fit best, a {@link io.waybill.script.CallStack} puts the arguments
 * on libtorch's stack, and {@link io.waybill.script.Results} converts its result to a value.
 *
 * <p>Tensors pass by address in both directions: {@link io.waybill.torch.LeasedTensors} lays libtorch's tensors
 * over the storages of a message, and {@link io.waybill.torch.DescribedResults} describes those
 * of a result in place.
 */
package io.waybill.script;
