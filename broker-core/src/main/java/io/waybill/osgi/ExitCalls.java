package io.waybill.osgi;

import java.util.Optional;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Rewrites the calls in a class that would end the process, {@code System.exit}, {@code Runtime.exit} and {@code Runtime.halt}, into
 * calls of a method that throws a {@link SecurityException}. The method is added to the class itself, with the stack effect of
 * the call it replaces, so that no frame of the class changes.
 *
 * <p>Method references are rewritten as well. Reflection is not seen.
 */
final class ExitCalls {

    private static final byte[][] NAMES = {constant("exit"), constant("halt")};
    private static final String REFUSE = "waybill$refuseToEnd";
    private static final int JAVA_8 = 52;

    private ExitCalls() {}

    /** The rewritten class; empty when there was nothing to rewrite. */
    static Optional<byte[]> refuse(byte[] classFile) {
        if (!contains(classFile, NAMES[0]) && !contains(classFile, NAMES[1])) {
            return Optional.empty();
        }
        ClassReader reader = new ClassReader(classFile);
        ClassWriter writer = new ClassWriter(reader, 0);
        Rewriter rewriter = new Rewriter(writer);
        reader.accept(rewriter, 0);
        return rewriter.found ? Optional.of(writer.toByteArray()) : Optional.empty();
    }

    /** A name as it stands in a class's constant pool. */
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

    private static final class Rewriter extends ClassVisitor {

        private String className;
        private boolean isInterface;
        private boolean mayHaveMethods;
        private boolean found;

        Rewriter(ClassVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public void visit(
                int version, int access, String name, String signature, String superName, String[] interfaces) {
            className = name;
            isInterface = (access & Opcodes.ACC_INTERFACE) != 0;
            mayHaveMethods = !isInterface || (version & 0xffff) >= JAVA_8;
            super.visit(version, access, name, signature, superName, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] exceptions) {
            MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
            return mayHaveMethods ? new CallRewriter(next) : next;
        }

        @Override
        public void visitEnd() {
            if (found) {
                addRefusal("(I)V", 1);
                addRefusal("(Ljava/lang/Runtime;I)V", 2);
            }
            super.visitEnd();
        }

        private void addRefusal(String descriptor, int argumentSlots) {
            int access = Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC;
            MethodVisitor method = cv.visitMethod(access, REFUSE, descriptor, null, null);
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

        private static boolean endsProcess(String owner, String name, String descriptor) {
            return descriptor.equals("(I)V")
                    && (owner.equals("java/lang/System") && name.equals("exit")
                            || owner.equals("java/lang/Runtime") && (name.equals("exit") || name.equals("halt")));
        }

        private static String refusalDescriptor(String owner) {
            return owner.equals("java/lang/System") ? "(I)V" : "(Ljava/lang/Runtime;I)V";
        }

        private Object rewriteConstant(Object constant) {
            if (constant instanceof Handle handle
                    && endsProcess(handle.getOwner(), handle.getName(), handle.getDesc())) {
                found = true;
                return new Handle(
                        Opcodes.H_INVOKESTATIC, className, REFUSE, refusalDescriptor(handle.getOwner()), isInterface);
            }
            if (constant instanceof ConstantDynamic dynamic) {
                Object[] arguments = new Object[dynamic.getBootstrapMethodArgumentCount()];
                for (int i = 0; i < arguments.length; i++) {
                    arguments[i] = rewriteConstant(dynamic.getBootstrapMethodArgument(i));
                }
                return new ConstantDynamic(
                        dynamic.getName(), dynamic.getDescriptor(), dynamic.getBootstrapMethod(), arguments);
            }
            return constant;
        }

        private final class CallRewriter extends MethodVisitor {

            CallRewriter(MethodVisitor next) {
                super(Opcodes.ASM9, next);
            }

            @Override
            public void visitMethodInsn(
                    int opcode, String owner, String name, String descriptor, boolean ownerIsInterface) {
                if (endsProcess(owner, name, descriptor)) {
                    found = true;
                    super.visitMethodInsn(
                            Opcodes.INVOKESTATIC, className, REFUSE, refusalDescriptor(owner), isInterface);
                } else {
                    super.visitMethodInsn(opcode, owner, name, descriptor, ownerIsInterface);
                }
            }

            @Override
            public void visitInvokeDynamicInsn(
                    String name, String descriptor, Handle bootstrap, Object... bootstrapArguments) {
                Object[] arguments = new Object[bootstrapArguments.length];
                for (int i = 0; i < arguments.length; i++) {
                    arguments[i] = rewriteConstant(bootstrapArguments[i]);
                }
                super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
            }

            @Override
            public void visitLdcInsn(Object value) {
                super.visitLdcInsn(rewriteConstant(value));
            }
        }
    }
}
