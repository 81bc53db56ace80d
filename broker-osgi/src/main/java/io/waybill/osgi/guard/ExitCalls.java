package io.waybill.osgi.guard;

import io.waybill.osgi.guard.CallRewriting.Call;
import io.waybill.osgi.guard.CallRewriting.Location;
import java.util.Optional;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Rewrites the calls in a class that would end the process, {@code System.exit}, {@code Runtime.exit} and
 * {@code Runtime.halt}, into calls of a method that throws a {@link SecurityException}. The method is added to the
 * class itself, with the stack effect of the call it replaces.
 */
final class ExitCalls implements CallRewriting.Rule {

    private static final byte[][] NAMES = {constant("exit"), constant("halt")};
    private static final String REFUSE = "waybill$refuseToEnd";

    private String className; // of the last rewritten call; all calls are in one class

    private ExitCalls() {}

    /** Rewrites a class so that its exit calls are refused; empty if it has none. */
    static Optional<byte[]> refuse(byte[] classFile) {
        return contains(classFile, NAMES[0]) || contains(classFile, NAMES[1])
                ? CallRewriting.apply(classFile, new ExitCalls())
                : Optional.empty();
    }

    /** Returns a name in the form of a class's constant pool. */
    private static byte[] constant(String name) {
        byte[] bytes = new byte[3 + name.length()];
        bytes[0] = 1; // CONSTANT_Utf8, then a u2 length
        bytes[2] = (byte) name.length();
        for (int i = 0; i < name.length(); i++) {
            bytes[3 + i] = (byte) name.charAt(i);
        }
        return bytes;
    }

    private static boolean contains(byte[] bytes, byte[] part) {
        for (int i = 0; i <= bytes.length - part.length; i++) {
            int matched = 0;
            while (matched < part.length && bytes[i + matched] == part[matched]) {
                matched++;
            }
            if (matched == part.length) {
                return true;
            }
        }
        return false;
    }

    @Override
    public boolean isAbout(Call call) {
        String owner = call.owner();
        String name = call.name();
        return call.descriptor().equals("(I)V")
                && (owner.equals("java/lang/System") && name.equals("exit")
                        || owner.equals("java/lang/Runtime") && (name.equals("exit") || name.equals("halt")));
    }

    @Override
    public void write(Call call, Location location, MethodVisitor code) {
        className = location.className();
        code.visitMethodInsn(
                Opcodes.INVOKESTATIC, className, REFUSE, refusalDescriptor(call.owner()), location.isInterface());
    }

    @Override
    public int extraStack() {
        return 0;
    }

    @Override
    public Handle refer(Handle method, Location location) {
        className = location.className();
        return new Handle(
                Opcodes.H_INVOKESTATIC,
                className,
                REFUSE,
                refusalDescriptor(method.getOwner()),
                location.isInterface());
    }

    private static String refusalDescriptor(String owner) {
        return owner.equals("java/lang/System") ? "(I)V" : "(Ljava/lang/Runtime;I)V";
    }

    @Override
    public void addMethods(ClassVisitor type) {
        addRefusal(type, "(I)V", 1);
        addRefusal(type, "(Ljava/lang/Runtime;I)V", 2);
    }

    private void addRefusal(ClassVisitor type, String descriptor, int argumentSlots) {
        int access = Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC;
        MethodVisitor method = type.visitMethod(access, REFUSE, descriptor, null, null);
        method.visitCode();
        method.visitTypeInsn(Opcodes.NEW, "java/lang/SecurityException");
        method.visitInsn(Opcodes.DUP);
        method.visitLdcInsn("a bundle may not end the process, and " + className.replace('/', '.') + " tried to");
        method.visitMethodInsn(
                Opcodes.INVOKESPECIAL, "java/lang/SecurityException", "<init>", "(Ljava/lang/String;)V", false);
        method.visitInsn(Opcodes.ATHROW);
        method.visitMaxs(3, argumentSlots);
        method.visitEnd();
    }
}
