/**
 * Remote references: owners of values, holders of their forks, and the messages between the two.
 *
 * <p>This is the protocol alone. It sends through a {@link io.waybill.rref.control.ControlTransport}, reads the time
 * from a {@link io.waybill.host.Clock}, starts no thread and opens no file, so that a test can run several workers in
 * one thread. The content of a value is opaque: an owner holds a {@link io.waybill.rref.OwnedValue}, which is broker's
 * memory and never an object of a bundle's class loader.
 *
 * <p>Two guarantees hold, as in PyTorch. G1: an owner is notified when a fork ends. G2: a fork is not released before
 * the owner knows every fork that was made of it. So a value exists as long as it can be reached.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.rref.References} for all references of one worker; {@link io.waybill.rref.Creations} makes them
 * and {@link io.waybill.rref.Forks} sends and receives them
 * <li>{@code Owners} (with {@code OwnerTable} and {@code OwnerReads}) and {@code Users} for its two halves,
 * {@code ControlSends} for its messages to others
 * <li>{@link io.waybill.rref.id.ForkData} for the data of a reference that is an argument
 * </ul>
 */
package io.waybill.rref;
